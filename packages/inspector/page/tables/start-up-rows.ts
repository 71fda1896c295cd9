import type { StartUp, StartUpService } from '../../src/wire.js';

export interface StartUpRow extends StartUpService {
  /** Where its bar begins, and how long it is, as parts of the whole. */
  readonly from: number;
  readonly part: number;
  /** Without what was created for it meanwhile. */
  readonly own: number;
}

export type StartUpOrder = 'cost' | 'time';

/** The services of a start-up as bars on one axis, from the start of the process until `length`. */
export function startUpRows({ services }: StartUp, length: number, order: StartUpOrder): StartUpRow[] {
  const rows = services.map((service, i) => ({
    ...service,
    from: (service.at - service.took) / length,
    part: service.took / length,
    own: service.took - nestedIn(services, i),
  }));
  return rows.toSorted((one, other) => (order === 'cost' ? other.own - one.own : one.from - other.from));
}

/** Until the last service was complete: the first request may come hours later. */
export function startUpLength({ services, inspected }: StartUp): number {
  return services.reduce((longest, { at }) => Math.max(longest, at), Math.max(inspected, 1));
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
