/** The fields of a scope that the channels publish; scopes of any container library with these fields work. */
export interface Scope {
  readonly tags?: readonly string[];
  readonly parent?: Scope | undefined;
}

export interface ScopeMessage {
  readonly scope: Scope;
}

export interface DisposedMessage extends ScopeMessage {
  readonly key: unknown;
  readonly error?: unknown;
}

export interface RefusedMessage {
  readonly parent: Scope;
  readonly milliseconds: number;
  readonly error: unknown;
}

export interface AcquiredMessage extends ScopeMessage {
  readonly parent: Scope;
  readonly milliseconds: number;
}

export interface StatementMessage extends ScopeMessage {
  readonly sql: string;
  readonly milliseconds: number;
  readonly error?: unknown;
}

export interface EndedMessage extends ScopeMessage {
  readonly outcome: string;
  readonly milliseconds: number;
  readonly error?: unknown;
}

/** Handlers for the messages of the channels; each is optional. */
export interface Listener {
  scopeOpened?(message: ScopeMessage): void;
  scopeClosed?(message: ScopeMessage): void;
  instanceDisposed?(message: DisposedMessage): void;
  transactionRefused?(message: RefusedMessage): void;
  transactionAcquired?(message: AcquiredMessage): void;
  statement?(message: StatementMessage): void;
  transactionFinished?(message: EndedMessage): void;
}

/** The kind of a scope: its tags. */
export function kindOf({ tags = [] }: Scope): string {
  return tags.length > 0 ? tags.join(' ') : 'untagged';
}

/** A key as text. For a class that is its name, because `String(key)` would be its source. */
export function nameOf(key: unknown): string {
  return typeof key === 'function' ? key.name || '(anonymous class)' : String(key);
}
