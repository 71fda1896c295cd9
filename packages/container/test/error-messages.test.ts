import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ContainerError, DisposeError, ErrorCode } from '../src/index.js';
import { declaring } from './support/situations/declaring.js';
import { disposing } from './support/situations/disposing.js';
import { resolving } from './support/situations/resolving.js';
import { working } from './support/situations/working.js';

type Situations = Record<string, () => unknown>;

// The compiler holds these to be all codes: one too few or too many does not fit the type.
const situations = { ...resolving, ...declaring, ...disposing, ...working } satisfies Record<ErrorCode, Situations>;
const everyCode: ErrorCode[] = codesIn(Object.keys(situations).join(' '));
// One code may have situations in several files.
const files: Record<string, Situations>[] = [resolving, declaring, disposing, working];
const every = everyCode.flatMap((code) =>
  files.flatMap((of) => Object.entries(of[code] ?? {}).map(([title, happen]) => ({ code, title, happen }))),
);

function codesIn(text: string): ErrorCode[] {
  return (text.match(/\bAMBIT_\w+/g) ?? []) as ErrorCode[];
}

async function errorOf(happen: () => unknown): Promise<ContainerError | DisposeError> {
  try {
    await happen();
  } catch (error) {
    return error as ContainerError | DisposeError;
  }
  return { code: undefined, message: 'nothing was thrown' } as never;
}

// Other packages, loaded in the same process, say more of their own keys.
const HINTS = Symbol.for('@ambit/hints');
const shared = globalThis as { [HINTS]?: unknown };
const ofOthers = shared[HINTS];
beforeAll(() => void delete shared[HINTS]);
afterAll(() => void (shared[HINTS] = ofOthers));

describe('every error message', () => {
  it.each(every)(
    'ends with its code and where to read more, and contains all that the error knows: $code, $title',
    async ({ code, happen }) => {
      const error = await errorOf(happen);
      const { path = [], tags = [], failures = [] } = error as Partial<ContainerError & DisposeError>;
      // A longer path is shortened.
      const shown = path.length > 30 ? [] : path;
      const keys = [...shown, ...failures.map(({ key }) => key)].map(nameOf);

      expect(error.code).toBe(code);
      expect(error.message.endsWith(` [npx ambit explain ${code}]`)).toBe(true);
      for (const words of [...keys, ...tags.flat()]) expect(error.message).toContain(words);
      if (shown.length > 1) expect(error.message).toContain(shown.map(nameOf).join(' -> '));
    },
  );

  it.each(every.filter(({ code }) => code !== 'AMBIT_DISPOSE_FAILED'))(
    'says what to do: $code, $title',
    async ({ happen }) => {
      const { message, hint, problems } = (await errorOf(happen)) as ContainerError;
      // A list of problems has a hint for each.
      const hints = problems?.length > 0 ? problems.map((problem) => problem.hint) : [hint];

      for (const words of hints) expect(message).toContain(words ?? 'a hint');
    },
  );
});

function nameOf(key: unknown): string {
  return typeof key === 'function' ? key.name : String(key);
}
