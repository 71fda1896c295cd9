import { setTimeout } from '#platform';

/** One limit for everything that is waited for, counted from the call of `timeLimit`. */
export interface TimeLimit {
  readonly over: Promise<false>;
  readonly timer: unknown;
}

export function timeLimit(ms: number): TimeLimit {
  let timer;
  const over = new Promise<false>((resolve) => {
    // A longer time does not fit a timer of Node, which would then fire at once.
    if (ms < 2 ** 31) timer = setTimeout(resolve, ms, false);
  });
  return { over, timer };
}

const yes = () => true;

export const settlesWithin = (limit: TimeLimit, work: PromiseLike<unknown>): Promise<boolean> =>
  Promise.race([work.then(yes, yes), limit.over]);
