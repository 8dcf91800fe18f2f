use super::{Blob, Event, Launched, Mapping, Order, Wire as _};

#[test]
fn messages_come_back_as_they_were() {
    let order = Order::Exec {
        id: 7,
        command: Blob::from("/bin/echo"),
        arguments: vec![Blob::from(""), Blob(vec![0xff, 0, 1])],
        environment: vec![Blob::from("A=b")],
        directory: Blob::from("/"),
        terminal: (24, 80),
        keep_background: 1,
    };
    assert_eq!(Order::from_bytes(&order.to_bytes()), Ok(order));
    let mapping = Some(Mapping { user: 1, group: u32::MAX });
    assert_eq!(Option::<Mapping>::from_bytes(&mapping.to_bytes()), Ok(mapping));
}

#[test]
fn every_cut_and_every_addition_is_noticed() {
    let bytes = Event::Ready { ports: vec![80, 443], notifies: 1 }.to_bytes();
    for cut in 0..bytes.len() {
        assert!(Event::from_bytes(&bytes[..cut]).is_err(), "{cut}");
    }
    let longer = [bytes.as_slice(), &[0]].concat();
    assert!(Event::from_bytes(&longer).is_err());
}

#[test]
fn counts_that_a_sender_makes_up_cost_nothing() {
    let claim = [1_u32.to_le_bytes(), u32::MAX.to_le_bytes()].concat();
    assert!(Event::from_bytes(&claim).is_err());
    assert!(Launched::from_bytes(&[9, 0, 0, 0]).is_err());
}
