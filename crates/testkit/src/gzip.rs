//! A decompression bomb: few bytes that claim to be many.

/// Bytes that one match of the compressed form stands for.
const MATCH: usize = 258;

/// A gzip stream that inflates to at least `size` zeros, about 150 times smaller. Its checksum is not right: nobody
/// should get as far as looking at it.
pub fn bomb(size: usize) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.push(0b1, 1); // The last block,
    bits.push(0b01, 2); // with the fixed code.
    bits.push_code(0b0011_0000, 8); // A zero.
    for _ in 0..size.div_ceil(MATCH) {
        bits.push_code(0b1100_0101, 8); // Repeat 258 bytes
        bits.push_code(0, 5); // from one byte back.
    }
    bits.push_code(0, 7); // End of block.
    let header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    [&header[..], &bits.finish(), &[0; 8]].concat()
}

/// Bits in the order of RFC 1951.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    pending: u32,
    count: u32,
}

impl Bits {
    /// Appends a number, lowest bit first.
    fn push(&mut self, value: u32, width: u32) {
        self.pending |= value << self.count;
        self.count += width;
        while self.count >= 8 {
            self.bytes.push(self.pending.to_le_bytes()[0]);
            self.pending >>= 8;
            self.count -= 8;
        }
    }

    /// Appends a code of the Huffman tree, highest bit first.
    fn push_code(&mut self, code: u32, width: u32) {
        self.push(code.reverse_bits() >> (32 - width), width);
    }

    /// The bytes, the last one filled up.
    fn finish(mut self) -> Vec<u8> {
        self.push(0, 7);
        self.bytes
    }
}
