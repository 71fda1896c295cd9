/**
 * Which callbacks run, and in which order, for a tree of runs. Written from the documentation alone: it imports nothing of the
 * implementation, and knows no promise, no scope and no connection.
 */
type Fault = 'plain' | 'conflict';
export type Kind = 'beforeCommit' | 'before the response' | 'afterCommit' | 'afterRollback' | 'afterEnd';
type How = 'nested' | 'required' | 'requires-new' | 'mandatory' | 'never';

/** Each list of faults is for the first time, the second time and so on; after that all goes well. */
export type Step =
  | { readonly type: 'register'; readonly name: string; readonly kind: Kind; readonly faults: readonly (Fault | '')[] }
  | { readonly type: 'savepoint'; readonly isUndone: boolean; readonly steps: readonly Step[] }
  | Run;
export interface Run {
  readonly type: 'run';
  readonly how: How;
  readonly steps: readonly Step[];
  readonly faults: readonly (Fault | '')[];
  readonly commits: readonly (Fault | 'unknown' | '')[];
  readonly isCaught: boolean;
}

interface Transaction {
  readonly callbacks: { readonly kind: Kind; readonly name: string; undone: boolean; readonly fault: () => string }[];
  broken: string;
}

export const RETRIES = 2;

export function reference(root: Run): string[] {
  const log: string[] = [];
  const times = new Map<object, number>();
  const nextOf = (faults: readonly string[]): string => {
    times.set(faults, (times.get(faults) ?? -1) + 1);
    return faults[times.get(faults)!] ?? '';
  };
  const raise = (fault: string): void => {
    if (fault) throw fault;
  };

  function take(steps: readonly Step[], inside: Transaction | undefined): void {
    for (const step of steps) {
      if (step.type === 'run') attempt(() => run(step, inside), step.isCaught);
      else if (step.type === 'savepoint') savepoint(step, inside);
      else if (inside) inside.callbacks.push({ ...step, undone: false, fault: () => nextOf(step.faults) });
      else if (step.kind === 'afterCommit') log.push(`${step.name} at once`);
    }
  }

  function attempt(work: () => void, isCaught: boolean): void {
    try {
      work();
    } catch (fault) {
      if (!isCaught) throw fault;
    }
  }

  function body({ steps, faults }: Run, inside: Transaction | undefined): void {
    take(steps, inside);
    raise(nextOf(faults));
  }

  function run(step: Run, around: Transaction | undefined): void {
    if (step.how === (around ? 'never' : 'mandatory')) raise('plain');
    if (step.how === 'never') return body(step, undefined);
    if (!around || step.how === 'requires-new') return begin(step);
    if (step.how === 'nested') return nested(step, around);
    try {
      body(step, around);
    } catch (fault) {
      around.broken ||= String(fault);
      throw fault;
    }
  }

  function undo(inside: Transaction, from: number): void {
    for (const callback of inside.callbacks.slice(from)) callback.undone = true;
    inside.broken = '';
  }

  function savepoint({ steps, isUndone }: Step & { type: 'savepoint' }, inside: Transaction | undefined): void {
    if (!inside) return;
    raise(inside.broken);
    const from = inside.callbacks.length;
    take(steps, inside);
    if (isUndone) undo(inside, from);
    raise(inside.broken);
  }

  function nested(step: Run, around: Transaction): void {
    raise(around.broken);
    const from = around.callbacks.length;
    try {
      body(step, around);
      raise(around.broken);
    } catch (fault) {
      undo(around, from);
      throw fault;
    }
  }

  function begin(step: Run): void {
    for (let retries = RETRIES; ; retries -= 1) {
      const own: Transaction = { callbacks: [], broken: '' };
      let outcome = 'rolled back';
      let failure = '';
      try {
        body(step, own);
        raise(own.broken);
        prepare(own);
        failure = nextOf(step.commits);
        outcome = failure === '' ? 'committed' : failure === 'unknown' ? 'unknown' : outcome;
      } catch (fault) {
        failure = String(fault);
      }
      settle(own, outcome);
      if (failure !== 'conflict' || retries === 0) return raise(failure);
    }
  }

  function prepare({ callbacks }: Transaction): void {
    for (const { kind, name, undone, fault } of callbacks) {
      if (kind !== 'beforeCommit' || undone) continue;
      log.push(`${name} ${kind}`);
      raise(fault());
    }
  }

  function settle({ callbacks }: Transaction, outcome: string): void {
    const call = (wanted: readonly Kind[]): void => {
      for (const { kind, name, undone } of callbacks) {
        const end = undone ? 'rolled back' : outcome;
        const fits = kind === 'afterEnd' || end === (kind === 'afterRollback' ? 'rolled back' : 'committed');
        if (wanted.includes(kind) && fits) log.push(`${name} ${kind === 'afterEnd' ? end : kind}`);
      }
    };
    call(['before the response']);
    call(['afterCommit', 'afterRollback']);
    call(['afterEnd']);
  }

  attempt(() => run(root, undefined), true);
  return log;
}
