import * as fc from 'fast-check';

const { FC_RUNS = '2000', FC_SEED, FC_PATH } = process.env;
const NUMBERS = ['0', '1', '-1', '32', '33', '255', '256', '1001', '10000', '2147483648', '9007199254740993'];
const COMMON = [' ', '\n', '\r\n', '\t', '"', "'", '\\', '%', '%00', '\0', '\u007f', 'é', '😀', '\u2028', '\uFEFF'];
const PAIRS = ['[]', '{}', '()', '""', "''", '``'] as const;

interface Words {
  /** Pieces that mean something to the reader. */
  readonly dictionary: readonly string[];
  /** Whole texts that it accepts, or nearly. */
  readonly seeds: readonly string[];
  readonly maxLength: number;
}

/** Texts of the words of a language, and known texts with changes. */
function textsOf({ dictionary, seeds, maxLength }: Words): fc.Arbitrary<string> {
  const token = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...dictionary) },
    { weight: 1, arbitrary: fc.constantFrom(...seeds) },
    { weight: 1, arbitrary: fc.constantFrom(...COMMON, ...NUMBERS) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 3 }) },
  );
  // Limits of depth and number are reached by what is repeated.
  const times = fc.oneof({ weight: 9, arbitrary: fc.constant(1) }, fc.constantFrom(2, 31, 32, 33, 255, 256, 5000));
  const repeated = fc.tuple(token, times).map(([text, count]) => text.repeat(count));
  const row = fc.array(repeated, { maxLength: 12 }).map((pieces) => pieces.join(''));
  const wrapped = fc
    .tuple(row, fc.constantFrom(...PAIRS), times)
    .map(([text, [opening = '', closing = ''], count]) => opening.repeat(count) + text + closing.repeat(count));
  const changes = fc.array(fc.tuple(fc.nat(), fc.nat(8), repeated), { minLength: 1, maxLength: 4 });
  const changed = fc.tuple(fc.constantFrom(...seeds), changes).map(([seed, all]) =>
    all.reduce((text, [place, length, piece]) => {
      const at = place % (text.length + 1);
      return text.slice(0, at) + piece + text.slice(at + length);
    }, seed),
  );
  return fc.oneof(row, wrapped, changed, changed).map((text) => text.slice(0, maxLength));
}

/** A failure prints FC_SEED and FC_PATH, which replay it. */
export async function mustHoldForAll(words: Words, holds: (text: string) => unknown): Promise<void> {
  const property = fc.asyncProperty(textsOf(words), async (text) => void (await holds(text)));
  await fc.assert(property, {
    numRuns: words.seeds.length + Number(FC_RUNS),
    examples: words.seeds.map((seed) => [seed]),
    ...(FC_SEED === undefined ? {} : { seed: Number(FC_SEED) }),
    ...(FC_PATH === undefined ? {} : { path: FC_PATH }),
  });
}

/** Something that must hold, and does not. */
export class Finding extends Error {
  constructor(what: string, details: object = {}) {
    super(`${what} ${JSON.stringify(details)}`);
  }
}

export function mustHold(holds: boolean, what: string, details: () => object = () => ({})): asserts holds {
  if (!holds) throw new Finding(what, details());
}
