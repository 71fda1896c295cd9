import type { StartUp, StartUpService } from '../src/wire.js';

/** Sorts by the values of one column; equal rows stay in the order in which the server sent them. */
export function sorted<Row>(
  rows: readonly Row[],
  valueOf: (row: Row) => number | string,
  descending: boolean,
): readonly Row[] {
  const sign = descending ? -1 : 1;
  return rows.toSorted((one, other) => sign * compare(valueOf(one), valueOf(other)));
}

function compare(one: number | string, other: number | string): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return String(one).localeCompare(String(other), 'en');
}

export interface StartUpRow extends StartUpService {
  /** Without what was created for it meanwhile. */
  readonly own: number;
}

/** The services of a start-up, with what each cost by itself. */
export function startUpRows({ services }: Pick<StartUp, 'services'>): StartUpRow[] {
  return services.map((service, i) => ({ ...service, own: service.took - nestedIn(services, i) }));
}

/** Dependencies are complete before the service is, so they stand before it. */
function nestedIn(services: readonly StartUpService[], index: number): number {
  const { at, took } = services[index] ?? { at: 0, took: 0 };
  let begin = at;
  let sum = 0;
  for (let i = index - 1; i >= 0; i--) {
    const inner = services[i];
    if (!inner || inner.at - inner.took < at - took || inner.at > begin) continue;
    sum += inner.took;
    begin = inner.at - inner.took;
  }
  return sum;
}
