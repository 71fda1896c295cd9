import { anomaliesOf, type Anomaly, type Operation, type RecordedTransaction } from './history.js';

/** The smallest part of a history that still has an anomaly of this name. Elements of what was left out are left out of reads. */
export function reducedTo(
  history: readonly RecordedTransaction[],
  { name, transactions }: Anomaly,
): RecordedTransaction[] {
  const has = (part: readonly RecordedTransaction[]): boolean => anomaliesOf(part).some((one) => one.name === name);
  const involved = without(history, (one) => !transactions.includes(one.name));
  let kept = has(involved) ? involved : [...history];
  for (let size = Math.ceil(kept.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < kept.length;) {
      const left = new Set(kept.slice(start, start + size));
      const part = without(kept, (one) => left.has(one));
      if (has(part)) kept = part;
      else start += size;
    }
  }
  for (let smaller: RecordedTransaction[] | undefined = kept; smaller;) {
    kept = smaller;
    smaller = withoutOneOperation(kept).find(has);
  }
  return kept;
}

/** The anomaly, its transactions and why each follows the other, for a person. */
export function describeAnomaly(history: readonly RecordedTransaction[], anomaly: Anomaly): string {
  const { name } = anomaly;
  const part = reducedTo(history, anomaly);
  const { because } = anomaliesOf(part).find((one) => one.name === name) ?? anomaly;
  const transactions = part.map((one) => `  ${one.name} (${one.outcome}): ${one.operations.map(shown).join(', ')}`);
  return [`${name}:`, ...transactions, ...because.map((line) => `  because ${line}`)].join('\n');
}

function shown(operation: Operation): string {
  if (operation.kind === 'append' || operation.kind === 'insert')
    return `${operation.kind} ${operation.key} ${operation.element}`;
  if (operation.kind === 'read') return `read ${operation.key} [${operation.elements.join(' ')}]`;
  if (operation.kind === 'select') return `select ${operation.keys.join(', ')} [${operation.elements.join(' ')}]`;
  return `savepoint${operation.undone ? ', rolled back' : ''} (${operation.operations.map(shown).join(', ')})`;
}

function without(
  history: readonly RecordedTransaction[],
  isLeft: (one: RecordedTransaction) => boolean,
): RecordedTransaction[] {
  const elements = new Set(history.filter(isLeft).flatMap(({ operations }) => elementsOf(operations)));
  return history
    .filter((one) => !isLeft(one))
    .map((one) => ({ ...one, operations: withoutElements(one.operations, elements) }));
}

function elementsOf(operations: readonly Operation[]): number[] {
  return operations.flatMap((one) => {
    if (one.kind === 'append' || one.kind === 'insert') return [one.element];
    return one.kind === 'nested' ? elementsOf(one.operations) : [];
  });
}

function withoutElements(operations: readonly Operation[], left: ReadonlySet<number>): Operation[] {
  return operations.map((one) => {
    if (one.kind === 'read' || one.kind === 'select')
      return { ...one, elements: one.elements.filter((element) => !left.has(element)) };
    return one.kind === 'nested' ? { ...one, operations: withoutElements(one.operations, left) } : one;
  });
}

function withoutOneOperation(history: readonly RecordedTransaction[]): RecordedTransaction[][] {
  return history.flatMap((transaction, at) =>
    smallerLists(transaction.operations).map(({ operations, left }) => {
      const elements = new Set(elementsOf([left]));
      const all = history.map((one, index) => (index === at ? { ...one, operations } : one));
      return all.map((one) => ({ ...one, operations: withoutElements(one.operations, elements) }));
    }),
  );
}

function smallerLists(operations: readonly Operation[]): { operations: Operation[]; left: Operation }[] {
  return operations.flatMap((one, at) => {
    const smaller = [{ operations: operations.toSpliced(at, 1), left: one }];
    if (one.kind !== 'nested') return smaller;
    const inside = smallerLists(one.operations).map((list) => ({
      operations: operations.with(at, { ...one, operations: list.operations }),
      left: list.left,
    }));
    return [...smaller, ...inside];
  });
}
