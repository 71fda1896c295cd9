import { savepointAlone } from '../core/errors.js';
import { isPlain, isSavepoint, refuseTransactionControl } from '../sql/control-statements.js';
import type { Language } from './driver.js';

const MOST_TEXTS = 500;

interface Where {
  readonly inTransaction: boolean;
  readonly readOnly: boolean;
  /** The text is likely to be sent again. */
  readonly isKept: boolean;
}

/** What a pool looks for in the text of a statement. A text without any of it is known from then on, on every connection. */
export class TextCheck {
  readonly language: Language;
  readonly #harmless = new Set<string>();

  constructor(language: Language) {
    this.language = language;
  }

  isHarmless(sql: string): boolean {
    return this.#harmless.has(sql);
  }

  /** Throws what must not be sent. Returns whether the statement leaves something in its session. */
  leavesSessionState(sql: string, where: Where): boolean {
    refuseTransactionControl(sql);
    if (!where.inTransaction && isSavepoint(sql)) throw savepointAlone();
    this.language.check?.(sql, where);
    if (this.language.leavesSessionState(sql)) return true;
    if (where.isKept && isPlain(sql) && this.#harmless.size < MOST_TEXTS) this.#harmless.add(sql);
    return false;
  }
}
