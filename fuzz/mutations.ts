import { Chance } from '@ambit/host-contract';

const NUMBERS = [
  '0',
  '1',
  '-1',
  '31',
  '32',
  '33',
  '255',
  '256',
  '1000',
  '1001',
  '9999',
  '10000',
  '2147483648',
  '9007199254740993',
];
const COMMON = [
  ' ',
  '\n',
  '\r\n',
  '\t',
  '"',
  "'",
  '\\',
  '%',
  '%00',
  '%2F',
  '\0',
  '\x7f',
  '\ud800',
  'é',
  '😀',
  '\u2028',
  '\uFEFF',
];
const PAIRS = [
  ['[', ']'],
  ['{', '}'],
  ['(', ')'],
  ['"', '"'],
  ["'", "'"],
  ['/*', '*/'],
] as const;
const MOST_PAIRS = 40;
const MOST_TOKENS = 3;
const LONGEST_REPEAT = 12;

/** Makes inputs of others. */
export class Mutations {
  readonly #chance: Chance;
  readonly #dictionary: readonly Buffer[];
  readonly #maxLength: number;

  constructor(seed: number, dictionary: readonly string[], maxLength: number) {
    this.#chance = new Chance(seed);
    this.#dictionary = [...new Set([...dictionary, ...COMMON])].map((text) => Buffer.from(text));
    this.#maxLength = maxLength;
  }

  below(limit: number): number {
    return this.#chance.below(limit);
  }

  of(input: Buffer, other: Buffer): Buffer {
    let changed = input;
    for (let changes = 1 << this.below(4); changes > 0; changes -= 1) changed = this.#once(changed, other);
    return changed.subarray(0, this.#maxLength);
  }

  #once(input: Buffer, other: Buffer): Buffer {
    const [from, to] = this.#range(input);
    switch (this.below(12)) {
      case 0:
        return replaced(input, from, to);
      case 1:
        return replaced(input, from, from, input.subarray(from, to));
      case 2:
        return replaced(input, from, from, ...this.#repeated(input.subarray(from, to)));
      case 3:
        return replaced(input, from, from + 1, Buffer.of(this.below(2) ? this.below(256) : 32 + this.below(95)));
      case 4:
        return replaced(input, from, to, ...this.#tokens());
      case 5:
        return replaced(input, from, from, other.subarray(...this.#range(other)));
      case 6:
        return Buffer.concat([input.subarray(0, from), other.subarray(this.below(other.length + 1))]);
      case 7:
        return this.#otherNumber(input);
      case 8:
        return this.#otherCase(input, from);
      case 9:
        return this.#wrapped(input, from, to);
      default:
        return replaced(input, from, from, ...this.#tokens());
    }
  }

  /** Mostly short. */
  #range({ length }: Buffer): [from: number, to: number] {
    const from = this.below(length + 1);
    return [from, Math.min(length, from + this.below(1 << this.below(8)))];
  }

  /** Several belong together more often than one alone does something new. */
  #tokens(): Buffer[] {
    return Array.from({ length: 1 + this.below(MOST_TOKENS) }, () => {
      return this.#dictionary[this.below(this.#dictionary.length)] ?? Buffer.alloc(0);
    });
  }

  /** Limits of depth and number are reached by what doubles. */
  #repeated(piece: Buffer): Buffer[] {
    if (piece.length === 0) return [];
    const most = Math.ceil(this.#maxLength / piece.length);
    return Array<Buffer>(Math.min(most, 1 << this.below(LONGEST_REPEAT))).fill(piece);
  }

  /** In brackets or quotes, sometimes in many. */
  #wrapped(input: Buffer, from: number, to: number): Buffer {
    const [opening = '', closing = ''] = PAIRS[this.below(PAIRS.length)] ?? [];
    const times = 1 + this.below(2) * this.below(MOST_PAIRS);
    const [before, after] = [opening, closing].map((piece) => Buffer.from(piece.repeat(times)));
    return replaced(input, from, to, ...(before ? [before] : []), input.subarray(from, to), ...(after ? [after] : []));
  }

  #otherNumber(input: Buffer): Buffer {
    const runs = [...input.toString('latin1').matchAll(/\d+/g)];
    const run = runs[this.below(runs.length)];
    if (!run) return input;
    const [digits] = run;
    const near = String(Number(digits) + this.below(5) - 2);
    const number = this.below(2) ? near : (NUMBERS[this.below(NUMBERS.length)] ?? '');
    return replaced(input, run.index, run.index + digits.length, Buffer.from(number));
  }

  #otherCase(input: Buffer, at: number): Buffer {
    const byte = input[at];
    const isLetter = byte !== undefined && /[a-z]/i.test(String.fromCharCode(byte));
    return isLetter ? replaced(input, at, at + 1, Buffer.of(byte ^ 0x20)) : input;
  }
}

function replaced(input: Buffer, from: number, to: number, ...pieces: readonly Buffer[]): Buffer {
  return Buffer.concat([input.subarray(0, from), ...pieces, input.subarray(to)]);
}

/** The shortest input found, by leaving out pieces, for which this still holds; it is asked so often at most. */
export async function reduced(
  input: Buffer,
  stillHolds: (smaller: Buffer) => Promise<boolean>,
  most: number,
): Promise<Buffer> {
  let smallest = input;
  let asked = 0;
  for (let size = Math.ceil(input.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < smallest.length && asked < most; asked += 1) {
      const smaller = replaced(smallest, at, at + size);
      if (await stillHolds(smaller)) smallest = smaller;
      else at += size;
    }
  }
  return smallest;
}
