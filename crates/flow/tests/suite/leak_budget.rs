//! Budgets are paid completely or not at all.

use fullsend_flow::leak_budget::{BudgetSpent, LeakBudget, MilliBits};
use proptest::prelude::*;

#[test]
fn a_budget_is_paid_completely_or_not_at_all() {
    let mut budget = LeakBudget::new(MilliBits::from_bits(2));
    assert_eq!(budget.charge(MilliBits::new(1585)), Ok(()));
    let refused = BudgetSpent { price: MilliBits::new(416), left: MilliBits::new(415) };
    assert_eq!(budget.charge(MilliBits::new(416)), Err(refused));
    assert_eq!((budget.spent(), budget.left()), (MilliBits::new(1585), MilliBits::new(415)));
    assert_eq!(budget.charge(MilliBits::new(u64::MAX)).unwrap_err().left, MilliBits::new(415));
    assert_eq!(budget.charge(MilliBits::new(415)), Ok(()));
    assert_eq!(budget.charge(MilliBits::ZERO), Ok(()));
    assert!(budget.charge(MilliBits::new(1)).is_err());
    assert!(refused.to_string().starts_with("the value tells up to 0.416 bits, but only 0.415 bits"));
}

#[test]
fn a_stored_budget_is_read_strictly() {
    let written = r#"{"allowed":64000,"spent":1000}"#;
    let budget: LeakBudget = serde_json::from_str(written).unwrap();
    assert_eq!(budget.left(), MilliBits::from_bits(63));
    assert_eq!(serde_json::to_string(&budget).unwrap(), written);
    for wrong in [r#"{"allowed":1}"#, r#"{"allowed":1,"spent":0,"extra":1}"#, r#"{"allowed":-1,"spent":0}"#] {
        assert!(serde_json::from_str::<LeakBudget>(wrong).is_err(), "{wrong}");
    }
    let mut overdrawn: LeakBudget = serde_json::from_str(r#"{"allowed":1,"spent":5}"#).unwrap();
    assert_eq!(overdrawn.left(), MilliBits::ZERO);
    assert!(overdrawn.charge(MilliBits::ZERO).is_err());
}

proptest! {
    #[test]
    fn never_more_is_spent_than_allowed(allowed: u64, prices: Vec<u64>) {
        let mut budget = LeakBudget::new(MilliBits::new(allowed));
        let mut paid: u128 = 0;
        for price in prices {
            let fits = paid + u128::from(price) <= u128::from(allowed);
            prop_assert_eq!(budget.charge(MilliBits::new(price)).is_ok(), fits);
            paid += if fits { u128::from(price) } else { 0 };
            prop_assert_eq!(u128::from(budget.spent().get()), paid);
        }
    }
}
