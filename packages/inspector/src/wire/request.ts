/** The outcome of the transactions of a request; of several, the worst one. */
export type Outcome = 'committed' | 'refused' | 'rolled back' | 'unknown';

/** One line of the list of requests. */
export interface RequestSummary {
  /** Unique within a recording; the page and the header `x-debug-token-link` write `<boot>-<id>`. */
  readonly id: number;
  /** The application's own id of the request, where the option `requestIdHeader` names the response header that has it. */
  readonly requestId?: string;
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
  /** Factories and constructors that threw, and keys that could not be resolved. */
  readonly failures: number;
  /** How many statements it sent, within transactions and outside of them. */
  readonly statements: number;
  readonly statementMs: number;
  /** How often it sent the statement that it sent most often: from 5 on it is marked as N+1. */
  readonly alike: number;
  /** Milliseconds for which it waited for connections. */
  readonly waited: number;
  /** Indexes in `names`: the different statements, and the keys of the services that were created for it. */
  readonly texts: readonly number[];
  readonly keys: readonly number[];
  /** Whether it is one that is kept because something went wrong, or took long. */
  readonly trouble: boolean;
}

export type StepKind =
  | 'arrived'
  | 'scope opened'
  | 'created'
  | 'failed'
  | 'connection'
  | 'no connection'
  | 'begin'
  | 'statement'
  | 'commit'
  | 'rollback'
  | 'commit unknown'
  | 'finding'
  | 'line'
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
  /** Of a key that could not be resolved: from the key that was asked for, to the one that failed. */
  readonly path?: readonly string[];
  readonly sql?: string;
  /** A statement that was sent outside of a transaction. */
  readonly outside?: boolean;
  /** The name and the code of an error, never its message. */
  readonly error?: string;
  /** What the transaction check found: the kind of the finding. */
  readonly found?: string;
  /** The line of code of a finding or of a statement. */
  readonly where?: string;
  /** A line of a log, where the option `lines` is set. */
  readonly line?: Line;
}

/** A line of a log or of an audit trail. Its text is what the application wrote, so it may contain values. */
export interface Line {
  /** Where it comes from, such as `log` or `audit`. */
  readonly source: string;
  /** Such as `info` or `error`. */
  readonly level: string;
  /** What the page shows, up to 2,000 characters. */
  readonly text: string;
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
