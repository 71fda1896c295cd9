/** What reads foreign bytes, and what must hold for all of them. */
export interface Target {
  /** Pieces that inputs are made of. */
  readonly dictionary: readonly string[];
  readonly maxLength: number;
  /** Where a search begins that has no corpus; the first one is ordinary. */
  readonly seeds: readonly Buffer[];
  /**
   * Throws where something does not hold that must. Returns what the input led to, in a few words: an input that leads to something new
   * is kept, as one that reaches new code is.
   */
  run(input: Buffer): Iterable<string> | Promise<Iterable<string>>;
  close?(): Promise<void>;
}

/** Something that must hold, and does not. */
export class Finding extends Error {
  override readonly name = 'Finding';
  /** The same for all inputs that show the same defect. */
  readonly kind: string;

  constructor(kind: string, details: object = {}) {
    super(`${kind} ${JSON.stringify(details)}`);
    this.kind = kind;
  }
}

export function mustHold(holds: boolean, kind: string, details: () => object = () => ({})): asserts holds {
  if (!holds) throw new Finding(kind, details());
}
