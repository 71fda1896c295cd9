import type { Operation, RecordedTransaction } from '../../src/index.js';

/**
 * A history as the literature writes it, one transaction a line: `T1: r(x, []) a(x, 1) sub(a(y, 2)) undone(a(y, 3))`. `i(x, 1)` is a
 * row, and `s(x y, [1])` a select of the rows of x and y. Behind the name may stand `rolled back` or `unknown`, and when it began and finished: `T1 @ 1-4: ...`. Without times all run at once.
 */
export function written(text: string): RecordedTransaction[] {
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const {
        name = '',
        outcome = 'committed',
        began = 0,
        finished = Infinity,
        steps = '',
      } = /^\s*(?<name>\w+)(?: (?<outcome>rolled back|unknown))?(?: @ (?<began>\d+)-(?<finished>\d+))?: (?<steps>.*)$/.exec(
        line,
      )?.groups ?? {};
      return {
        name,
        outcome: outcome as RecordedTransaction['outcome'],
        began: Number(began),
        finished: Number(finished),
        operations: operationsOf(steps),
      };
    });
}

function operationsOf(steps: string): Operation[] {
  const found = steps.matchAll(
    /([rs])\(([\w ]+), \[([\d ]*)\]\)|([ai])\((\w+), (\d+)\)|(sub|undone)\(((?:[^()]|\([^()]*\))*)\)/g,
  );
  return Array.from(
    found,
    ([, read, keys = '', list = '', write, key = '', element, nested, inner = '']): Operation => {
      if (nested) return { kind: 'nested', undone: nested === 'undone', operations: operationsOf(inner) };
      if (write) return { kind: write === 'a' ? 'append' : 'insert', key, element: Number(element) };
      const elements = list.split(' ').filter(Boolean).map(Number);
      return read === 'r' ? { kind: 'read', key: keys, elements } : { kind: 'select', keys: keys.split(' '), elements };
    },
  );
}
