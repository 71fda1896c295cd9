import { array, assert, nat, property } from 'fast-check';
import { expect, test } from 'vitest';
import { type Linked, LinkedList } from '../src/linked-list.js';

interface Item extends Linked<Item> {
  readonly name: number;
}

const item = (name: number): Item => ({ name, earlier: undefined, later: undefined });

function names(list: LinkedList<Item>): number[] {
  const found: number[] = [];
  for (let next = list.first; next; next = next.later) found.push(next.name);
  return found;
}

test('a list keeps the order of arrival, whichever items are removed and however often', () => {
  assert(
    property(array(nat({ max: 9 })), (moves) => {
      const list = new LinkedList<Item>();
      const items = Array.from({ length: 10 }, (_, name) => item(name));
      let expected: number[] = [];
      for (const [at, name] of moves.entries()) {
        const isIn = expected.includes(name);
        // Every third move has somebody leave who may have left already.
        if (isIn || at % 3 === 0) {
          list.remove(items[name]!);
          expected = expected.filter((other) => other !== name);
        } else {
          list.add(items[name]!);
          expected.push(name);
        }
        expect(names(list)).toEqual(expected);
        expect(list.size).toBe(expected.length);
      }
    }),
  );
});

test('who has left holds on to none of the others', () => {
  const list = new LinkedList<Item>();
  const items = [1, 2, 3].map(item);
  for (const one of items) list.add(one);

  list.remove(items[1]!);

  expect(items[1]).toEqual(item(2));
});
