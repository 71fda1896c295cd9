/** The outcome of the transactions of a request; of several, the worst one. */
export type Outcome = 'committed' | 'refused' | 'rolled back' | 'unknown';

/** One line of the list of requests. */
export interface RequestSummary {
  readonly id: number;
  readonly method: string;
  /** As declared, such as `/api/users/:id`, never the requested path. */
  readonly route: string;
  /** Milliseconds since 1970. */
  readonly arrived: number;
  readonly state: 'open' | 'responded' | 'aborted';
  readonly status?: number;
  /** Until the response was complete, or the client disconnected. */
  readonly milliseconds?: number;
  readonly outcome?: Outcome;
  /** Scopes that are still open. */
  readonly open: number;
  /** Scopes that are open longer than the limit although the request is complete. */
  readonly leaks: number;
  /** What the transaction check has found. */
  readonly findings: number;
  /** Whether it is one that is kept because something went wrong, or took long. */
  readonly trouble: boolean;
}

export type StepKind =
  | 'arrived'
  | 'scope opened'
  | 'created'
  | 'connection'
  | 'no connection'
  | 'begin'
  | 'statement'
  | 'commit'
  | 'rollback'
  | 'commit unknown'
  | 'finding'
  | 'responded'
  | 'aborted'
  | 'disposed'
  | 'scope closed';

/** One thing that happened; `at` and `took` are milliseconds, counted from the arrival of the request. */
export interface Step {
  readonly kind: StepKind;
  readonly at: number;
  readonly took?: number;
  /** The index in `spans` of the scope in which it happened. */
  readonly span?: number;
  readonly key?: string;
  readonly sql?: string;
  /** The name and the code of an error, never its message. */
  readonly error?: string;
  /** What the transaction check found: the kind of the finding. */
  readonly found?: string;
  /** The line of code of a finding. */
  readonly where?: string;
}

/** A scope of a request, from opening to closing. */
export interface ScopeSpan {
  readonly box: string;
  readonly opened: number;
  readonly closed?: number;
  /** Where a scope that leaked was opened. */
  readonly where?: readonly string[];
}

export interface RequestDetails extends RequestSummary {
  readonly spans: readonly ScopeSpan[];
  readonly steps: readonly Step[];
  /** The milliseconds since its arrival, where it is in progress or has scopes that are open. */
  readonly elapsed?: number;
  /** Steps beyond the number that is kept. */
  readonly dropped: number;
}

/** How many scopes of one kind; a kind, or box, is written `application > request`. */
export interface KindNow {
  readonly box: string;
  readonly open: number;
  readonly openedPerSecond: number;
  readonly closedPerSecond: number;
}

export interface OpenScope {
  readonly id: number;
  readonly box: string;
  readonly age: number;
  /** It was open before the page was, so it is older than that. */
  readonly atLeast: boolean;
  readonly old: boolean;
  readonly where?: readonly string[];
  readonly request?: number;
}

export interface Now {
  readonly requestsPerSecond: number;
  /** How many of those were recorded. */
  readonly recordedPerSecond: number;
  readonly kinds: readonly KindNow[];
  /** The oldest ones. */
  readonly scopes: readonly OpenScope[];
  readonly transactions: Readonly<Record<'open' | Outcome, number>>;
  readonly pool?: { readonly open: number; readonly idle: number; readonly waiting: number };
}

/** Counted since the page was opened. */
export interface ServiceStats {
  readonly box: string;
  readonly key: string;
  readonly created: number;
  readonly alive: number;
  readonly averageMs: number;
  readonly longestMs: number;
}

/** What changed; sent a few times a second. */
export interface Tick {
  readonly now: Now;
  readonly requests: readonly RequestSummary[];
  readonly services: readonly ServiceStats[];
}

/** The first message: the complete state. */
export interface Hello extends Tick {
  /** A new id after each restart, of the process or of the recording. */
  readonly boot: string;
  readonly limitMs: number;
  /** How many requests without trouble are kept. */
  readonly keep: number;
  /** How many with trouble. */
  readonly keepTrouble: number;
}

export interface GraphBox {
  readonly id: string;
  readonly tags: string;
  readonly parent?: string;
}

export interface ServiceNode {
  readonly id: string;
  readonly box: string;
  readonly key: string;
  readonly kind: 'alias' | 'class' | 'factory' | 'missing' | 'register' | 'value';
  readonly singleton: boolean;
}

export interface ServiceEdge {
  readonly from: string;
  readonly to: string;
  readonly kind: 'all' | 'lazy' | 'one' | 'optional';
  readonly problem: boolean;
}

export interface GraphProblem {
  readonly code: string;
  readonly message: string;
  /** The nodes it is about. */
  readonly nodes: readonly string[];
}

export interface GraphView {
  readonly boxes: readonly GraphBox[];
  readonly nodes: readonly ServiceNode[];
  readonly edges: readonly ServiceEdge[];
  readonly problems: readonly GraphProblem[];
}
