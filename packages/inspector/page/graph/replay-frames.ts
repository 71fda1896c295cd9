import type { RequestDetails } from '../../src/wire.js';

/** The scopes and instances of a request that exist at one of its steps. */
export interface Frame {
  /** Boxes with a scope that is open. */
  readonly open: ReadonlySet<string>;
  /** Boxes with a scope that nobody disposes although the response was sent. */
  readonly left: ReadonlySet<string>;
  /** The services that were created and are not disposed, with the box in which they are; no box is the application's. */
  readonly created: readonly Service[];
  readonly failed: readonly Service[];
}

interface Service {
  readonly box: string | undefined;
  readonly key: string;
}

/** The state after the step with this number; after the last step only what is left of the request. */
export function frameAt(request: RequestDetails, position: number): Frame {
  const { spans, steps } = request;
  const isOver = position >= steps.length;
  const openSpans = new Set<number>();
  const created = new Map<string, Service & { readonly span: number | undefined }>();
  const failed: Service[] = [];
  let responded = false;
  for (const { kind, span, key = '' } of steps.slice(0, position + 1)) {
    const box = span === undefined ? undefined : spans[span]?.box;
    const name = `${span}\n${key}`;
    if (kind === 'scope opened' && span !== undefined) openSpans.add(span);
    else if (kind === 'created') created.set(name, { box, key, span });
    else if (kind === 'failed') failed.push({ box, key });
    else if (kind === 'disposed') created.delete(name);
    else if (kind === 'scope closed' && span !== undefined) {
      openSpans.delete(span);
      for (const [id, service] of created) if (service.span === span) created.delete(id);
    } else if (kind === 'responded' || kind === 'aborted') responded = true;
  }
  const open = Array.from(openSpans, (span) => spans[span]).filter((span) => span !== undefined);
  const left = responded ? open.filter(({ closed }) => closed === undefined) : [];
  return {
    open: new Set(open.map(({ box }) => box)),
    left: new Set(left.map(({ box }) => box)),
    created: [...created.values()].filter(({ span }) => !isOver || span !== undefined),
    failed: isOver ? [] : failed,
  };
}
