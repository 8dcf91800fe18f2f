//! Writes filter programs: loads, comparisons, jumps that only go forward, verdicts.

use super::Check;

/// One instruction as the kernel reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) code: u16,
    pub(crate) if_true: u8,
    pub(crate) if_false: u8,
    pub(crate) value: u32,
}

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const JUMP_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

const OFFSET_NUMBER: u32 = 0;
const OFFSET_ARCHITECTURE: u32 = 4;
const OFFSET_ARGUMENTS: u32 = 16;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;

/// Set in numbers of the x32 interface, which is another way to make the same calls.
#[cfg(target_arch = "x86_64")]
const OTHER_INTERFACE: u32 = 0x4000_0000;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const KILL: u32 = libc::SECCOMP_RET_KILL_PROCESS;

const fn error(number: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | number as u32
}

/// A filter under construction.
#[derive(Debug)]
pub(super) struct Program {
    instructions: Vec<Instruction>,
    refuse: u32,
}

impl Program {
    pub(super) fn new(notify: bool) -> Self {
        let refuse = if notify { libc::SECCOMP_RET_USER_NOTIF } else { error(libc::EPERM) };
        Self { instructions: Vec::new(), refuse }
    }

    /// A process that speaks another architecture's interface would be judged by the wrong numbers.
    pub(super) fn check_architecture(&mut self) {
        self.push(LOAD, 0, 0, OFFSET_ARCHITECTURE);
        self.push(JUMP_EQUAL, 1, 0, ARCHITECTURE);
        self.verdict(KILL);
        self.push(LOAD, 0, 0, OFFSET_NUMBER);
    }

    /// Calls that did not exist when the table was written are as if the kernel did not have them.
    pub(super) fn refuse_unknown_numbers(&mut self, newest: u32) {
        #[cfg(target_arch = "x86_64")]
        debug_assert!(newest < OTHER_INTERFACE, "numbers of the other interface are above all others");
        self.push(JUMP_AT_LEAST, 0, 1, newest + 1);
        self.verdict(error(libc::ENOSYS));
    }

    /// A search tree over the numbers, each leaf with its check.
    pub(super) fn search(&mut self, rules: &[(u32, Check)]) {
        match rules {
            [] => self.verdict(ALLOW),
            [(number, check)] => {
                let mut leaf = Self { instructions: Vec::new(), refuse: self.refuse };
                leaf.check(check);
                self.push(JUMP_EQUAL, 1, 0, *number);
                self.verdict(ALLOW);
                self.instructions.append(&mut leaf.instructions);
            }
            _ => {
                let (lower, upper) = rules.split_at(rules.len() / 2);
                let Some((pivot, _)) = upper.first() else { return };
                let mut left = Self { instructions: Vec::new(), refuse: self.refuse };
                left.search(lower);
                // Offsets of comparisons are a byte; a plain jump reaches as far as needed.
                self.push(JUMP_AT_LEAST, 0, 1, *pivot);
                self.push(JUMP, 0, 0, left.instructions.len() as u32);
                self.instructions.append(&mut left.instructions);
                self.search(upper);
            }
        }
    }

    fn check(&mut self, check: &Check) {
        match check {
            Check::Refuse => self.verdict(self.refuse),
            Check::Fail(number) => self.verdict(error(*number)),
            Check::Report => self.verdict(libc::SECCOMP_RET_USER_NOTIF),
            Check::RefuseBits { argument, bits } => self.if_bits(*argument, *bits, self.refuse, ALLOW),
            Check::RefuseModeBits { argument, otherwise } => {
                self.if_bits(*argument, SPECIAL_MODE, error(libc::EPERM), otherwise.verdict());
            }
            Check::RefuseModeBitsOfNew { flags, mode, otherwise } => {
                let creates = (libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY)) as u32;
                self.push(LOAD, 0, 0, low_half(*flags));
                self.push(JUMP_ANY_BIT, 1, 0, creates);
                self.verdict(otherwise.verdict());
                self.if_bits(*mode, SPECIAL_MODE, error(libc::EPERM), otherwise.verdict());
            }
            Check::RefuseValues { argument, values } => self.if_one_of(*argument, values, self.refuse, ALLOW),
            Check::AllowValues { argument, values } => self.if_one_of(*argument, values, ALLOW, self.refuse),
            Check::FailUnless { argument, values, number } => {
                self.if_one_of(*argument, values, ALLOW, error(*number))
            }
        }
    }

    fn if_bits(&mut self, argument: u32, bits: u32, then: u32, otherwise: u32) {
        self.push(LOAD, 0, 0, low_half(argument));
        self.push(AND, 0, 0, bits);
        self.push(JUMP_EQUAL, 1, 0, 0);
        self.verdict(then);
        self.verdict(otherwise);
    }

    fn if_one_of(&mut self, argument: u32, values: &[u32], then: u32, otherwise: u32) {
        self.push(LOAD, 0, 0, low_half(argument));
        for value in values {
            self.push(JUMP_EQUAL, 0, 1, *value);
            self.verdict(then);
        }
        self.verdict(otherwise);
    }

    fn verdict(&mut self, verdict: u32) {
        self.push(RETURN, 0, 0, verdict);
    }

    fn push(&mut self, code: u16, if_true: u8, if_false: u8, value: u32) {
        self.instructions.push(Instruction { code, if_true, if_false, value });
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        let bytes = |instruction: Instruction| {
            let [c0, c1] = instruction.code.to_ne_bytes();
            let [v0, v1, v2, v3] = instruction.value.to_ne_bytes();
            [c0, c1, instruction.if_true, instruction.if_false, v0, v1, v2, v3]
        };
        self.instructions.into_iter().flat_map(bytes).collect()
    }
}

/// Set-user-id and set-group-id.
const SPECIAL_MODE: u32 = 0o6000;

/// Where the lower half of an argument is; the kernel itself ignores the upper half of those that are looked at.
fn low_half(argument: u32) -> u32 {
    OFFSET_ARGUMENTS + argument * 8
}
