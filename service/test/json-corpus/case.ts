/** `y`: is JSON. `n`: is not JSON. `i`: implementations differ, so any valid response is right. */
export type Verdict = 'y' | 'n' | 'i';

export interface Case {
  readonly verdict: Verdict;
  readonly name: string;
  readonly bytes: Buffer;
}

const MOST_SHOWN = 50;

/** One case for each text; its name is what it is about, and the beginning of the text. */
export function texts(verdict: Verdict, about: string, ...all: readonly string[]): Case[] {
  return all.map((text) => {
    const shown = JSON.stringify(text).slice(1, -1);
    return {
      verdict,
      name: `${verdict}_${about}: ${shown.length > MOST_SHOWN ? `${shown.slice(0, MOST_SHOWN)}…` : shown}`,
      bytes: Buffer.from(text),
    };
  });
}

/** One case for each row of bytes, given in hexadecimal and put between quotes. */
export function quotedBytes(verdict: Verdict, about: string, ...all: readonly string[]): Case[] {
  return all.map((hex) => ({
    verdict,
    name: `${verdict}_${about}: ${hex}`,
    bytes: Buffer.concat([Buffer.from('"'), Buffer.from(hex.replaceAll(' ', ''), 'hex'), Buffer.from('"')]),
  }));
}
