import { createHmac, randomBytes } from 'node:crypto';

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Values in place of secrets: equal secrets get equal stand-ins within a recording, each of the kind of its secret. */
export class StandIns {
  /** Known to this recording only, and never kept: a stand-in says nothing about its value. */
  readonly #key = randomBytes(32);
  readonly #known = new Map<string, string>();

  of(value: string): string {
    let standIn = this.#known.get(value);
    for (let attempt = 0; standIn === undefined || standIn === value; attempt += 1)
      standIn = this.#make(value, attempt);
    this.#known.set(value, standIn);
    return standIn;
  }

  /** Takes another stand-in than the one it would make. */
  set(value: string, standIn: string): string {
    this.#known.set(value, standIn);
    return standIn;
  }

  get all(): readonly string[] {
    return [...this.#known.values()];
  }

  bytes(like: Uint8Array): Buffer {
    return Buffer.from(this.#stream(Buffer.from(like).toString('base64'), 0, like.length));
  }

  #make(value: string, attempt: number): string {
    const stream = this.#stream(value, attempt, value.length);
    if (UUID.test(value)) {
      // The version and the variant stay.
      const hex = (char: string, i: number): string => ((stream[i] ?? 0) % 16).toString(16) || char;
      return value.replaceAll(/[\da-f]/gi, (char, i: number) => (i === 14 || i === 19 ? char : hex(char, i)));
    }
    return Array.from(value.split(''), (char, i) => sameKind(char, stream[i] ?? 0)).join('');
  }

  #stream(value: string, attempt: number, length: number): Uint8Array {
    const parts: Buffer[] = [];
    for (let part = 0; part * 32 <= length; part += 1)
      parts.push(createHmac('sha256', this.#key).update(`${attempt} ${part} ${value}`).digest());
    return Buffer.concat(parts).subarray(0, Math.max(6, length));
  }
}

/** A digit for a digit, a letter for a letter; the first digit of a number stays one that numbers begin with. */
function sameKind(char: string, byte: number): string {
  if (/[1-9]/.test(char)) return String(1 + (byte % 9));
  if (char === '0') return char;
  if (/[a-z]/.test(char)) return String.fromCodePoint(97 + (byte % 26));
  if (/[A-Z]/.test(char)) return String.fromCodePoint(65 + (byte % 26));
  return char < '\u0080' ? char : 'x';
}

export function passesLuhn(digits: string): boolean {
  let sum = 0;
  digits
    .split('')
    .toReversed()
    .forEach((digit, i) => {
      const doubled = Number(digit) * (i % 2 === 0 ? 1 : 2);
      sum += doubled > 9 ? doubled - 9 : doubled;
    });
  return sum % 10 === 0;
}
