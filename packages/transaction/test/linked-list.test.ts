import { expect, test } from 'vitest';
import { type Linked, LinkedList } from '../src/linked-list.js';

interface Item extends Linked<Item> {
  readonly name: number;
}

test('removes an item once, however often it is asked to, and the item holds none of the others', () => {
  const list = new LinkedList<Item>();
  const items = [0, 1, 2].map((name): Item => ({ name, earlier: undefined, later: undefined }));
  for (const item of items) list.add(item);
  const left: number[][] = [];
  for (const at of [1, 0, 2]) {
    const item = items[at] as Item;
    for (const time of [1, 2]) {
      list.remove(item);
      const names: number[] = [];
      for (let next = list.first; next; next = next.later) names.push(next.name);
      expect([list.size, item.earlier, item.later, time]).toEqual([names.length, undefined, undefined, time]);
      left.push(names);
    }
  }
  list.add(items[1] as Item);

  expect(left).toEqual([[0, 2], [0, 2], [2], [2], [], []]);
  expect([list.first, list.size]).toEqual([items[1], 1]);
});
