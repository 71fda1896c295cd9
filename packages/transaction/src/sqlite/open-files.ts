import { closeSync, fstatSync, openSync, readSync, realpathSync, type Stats, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { TransactionError } from '../core/errors.js';
import { statOf } from './file.js';

/** The values of the row that a PRAGMA gives on the connection that writes. */
export type AskPragma = (pragma: string) => readonly unknown[];

type Same = Pick<Stats, 'dev' | 'ino'>;

const isSame = (a: Same, b: Same): boolean => a.ino === b.ino && a.dev === b.dev;

const HEADER_BYTES = 100;
const MAGIC = Buffer.from('SQLite format 3\0');
/** The first three bytes of a `-wal` file; the fourth is the byte order. */
const WAL_MAGIC = 0x377f06;
const WAL_FRAME_HEADER = 24;
/** The unit of `blocks`, whatever the file system has. */
const BLOCK_BYTES = 512;

/** What the first page of the file says, https://www.sqlite.org/fileformat2.html#the_database_header. */
class Header {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isOfSqlite(): boolean {
    return this.#bytes.subarray(0, MAGIC.length).equals(MAGIC);
  }

  get pageSize(): number {
    const size = this.#bytes.readUInt16BE(16);
    return size === 1 ? 65_536 : size;
  }

  get pages(): number {
    return this.#bytes.readUInt32BE(28);
  }

  get schemaCookie(): number {
    return this.#bytes.readUInt32BE(40);
  }

  /** Only then a file loses pages without a VACUUM, which changes the cookie. */
  get vacuumsItself(): boolean {
    return this.#bytes.readUInt32BE(52) !== 0;
  }

  equals(other: Header): boolean {
    return this.#bytes.equals(other.#bytes);
  }
}

/** Closing one descriptor of a file drops all locks that the process has on it, also SQLite's, so all pools share one. */
const DESCRIPTORS = new Map<string, { readonly fd: number; users: number }>();

const nameOf = ({ dev, ino }: Same): string => `${dev}:${ino}`;

function share(path: string): number {
  const name = nameOf(statSync(path));
  const shared = DESCRIPTORS.get(name) ?? { fd: openSync(path, 'r'), users: 0 };
  shared.users += 1;
  DESCRIPTORS.set(name, shared);
  return shared.fd;
}

function unshare(file: Same): void {
  const shared = DESCRIPTORS.get(nameOf(file));
  if (!shared || (shared.users -= 1) > 0) return;
  DESCRIPTORS.delete(nameOf(file));
  closeSync(shared.fd);
}

/** A check is six calls of the system, too many for each COMMIT. For so long after a fault one may succeed. */
const WINDOW_MS = 10;

const DAMAGED = 'XX001';
const LOST = '58030';

const RESTORE = 'Stop this program, remove the -wal and -shm files beside it, and restore a backup';

/**
 * The file of a pool, and the `-wal` and `-shm` beside it, as SQLite has opened them. SQLite goes on in a file that was deleted,
 * replaced or overwritten, and reports that everything is stored.
 */
export class OpenFiles {
  readonly #path: string;
  readonly #real: string;
  readonly #ask: AskPragma;
  readonly #file: Same;
  /** Known from the first write on: only then SQLite has certainly opened them. */
  readonly #beside = new Map<string, Same>();
  readonly #contents: Contents | undefined;
  #fault: TransactionError | undefined = undefined;
  #checkedAt = -Infinity;

  /** `readsContents` is for a file that only pools of this package have open in this process: see `DESCRIPTORS`. */
  constructor(path: string, ask: AskPragma, { readsContents = false } = {}) {
    this.#path = resolve(path);
    this.#ask = ask;
    const file = statOf(path);
    if (!file) throw unusable(`${this.#path} was deleted or moved while it was in use`, RESTORE, LOST);
    this.#file = file;
    this.#real = realpathSync(path);
    this.#contents = readsContents ? new Contents(this.#path, this.#real, ask) : undefined;
  }

  /** Nothing may be written any more, also not what is still in the `-wal`. */
  get isDamaged(): boolean {
    return this.#fault?.sqlState === DAMAGED;
  }

  /** Throws after a fault, until the files are as they were. */
  beforeUse(): void {
    if (this.#fault) this.check();
  }

  /** Before and after a write: throws where a program that opens the path does not find, or will not find, what was written. */
  watch(): void {
    if (this.#fault || performance.now() - this.#checkedAt >= WINDOW_MS) this.check();
  }

  check(): void {
    this.#checkedAt = performance.now();
    if (!this.isDamaged) this.#fault = this.#find();
    if (this.#fault) throw this.#fault;
  }

  close(): void {
    this.#contents?.close();
  }

  #find(): TransactionError | undefined {
    const file = statOf(this.#path);
    if (file && isSame(file, this.#file))
      return (
        this.#contents?.findInFile(file) ??
        this.#findBeside('-wal') ??
        this.#contents?.findInWal() ??
        this.#findBeside('-shm')
      );
    const what = file ? 'replaced by another file' : 'deleted or moved';
    return unusable(`${this.#path} was ${what} while it was in use`, this.#rescue(), LOST);
  }

  #findBeside(suffix: string): TransactionError | undefined {
    const path = this.#real + suffix;
    const file = statOf(path);
    const known = this.#beside.get(suffix);
    if (!known) {
      if (file) this.#beside.set(suffix, file);
      return undefined;
    }
    if (file && isSame(file, known)) return undefined;
    if (this.#hasNoWal()) {
      this.#beside.clear();
      return undefined;
    }
    // Another program has begun a log of its own, and the two must not be mixed.
    if (file) return unusable(`${path} was replaced while it was in use`, RESTORE, DAMAGED);
    const advice = this.#moveIntoFile()
      ? 'The file itself has all that was acknowledged: restart this program'
      : 'Do not stop this program: all that was acknowledged is moved into the file itself when no transaction is open';
    return unusable(`${path} was deleted or moved while it was in use`, advice, LOST);
  }

  /** SQLite itself removes them when the journal is changed. */
  #hasNoWal(): boolean {
    try {
      return this.#ask('journal_mode')[0] !== 'wal';
    } catch {
      return false;
    }
  }

  /** The file has no name any more, and is complete nevertheless. */
  #rescue(): string {
    const { fd } = this.#contents ?? {};
    const moveBack = 'Move it back';
    if (!this.#moveIntoFile() || fd === undefined || process.platform !== 'linux')
      return `${moveBack}. Otherwise: ${RESTORE}`;
    return `${moveBack}, or run \`cp /proc/${process.pid}/fd/${fd} '${this.#path}'\` and then restart this program`;
  }

  /** Moves what is in the `-wal` into the file, which works although neither has a name. */
  #moveIntoFile(): boolean {
    try {
      return Number(this.#ask('wal_checkpoint(TRUNCATE)')[0]) === 0;
    } catch {
      return false;
    }
  }
}

/** What the files hold, as far as SQLite has written it. */
class Contents {
  readonly #path: string;
  readonly #walPath: string;
  readonly #ask: AskPragma;
  readonly #file: Same;
  readonly fd: number;
  readonly #read = Buffer.alloc(HEADER_BYTES);
  #header: Header;
  #seen: Stats;
  #walFd: number | undefined = undefined;
  #walSize = 0;

  constructor(path: string, real: string, ask: AskPragma) {
    this.#path = path;
    this.#walPath = `${real}-wal`;
    this.#ask = ask;
    this.fd = share(path);
    this.#file = this.#seen = fstatSync(this.fd);
    readSync(this.fd, this.#read, 0, HEADER_BYTES, 0);
    this.#header = new Header(Buffer.from(this.#read));
  }

  close(): void {
    unshare(this.#file);
    if (this.#walFd !== undefined) closeSync(this.#walFd);
  }

  findInFile(file: Stats): TransactionError | undefined {
    if (file.mtimeMs === this.#seen.mtimeMs && file.size === this.#seen.size) return undefined;
    const wholeHead = readSync(this.fd, this.#read, 0, HEADER_BYTES, 0) === HEADER_BYTES;
    const [header, before] = [new Header(this.#read), this.#seen];
    const wasChanged = wholeHead && !header.equals(this.#header);
    if (wasChanged && !this.#mayFollow(header, this.#header))
      return unusable(`${this.#path} was overwritten while it was in use`, RESTORE, DAMAGED);
    const isShort = !wholeHead || file.size < header.pages * header.pageSize;
    if (isShort && (file.size < before.size || this.#staysShort(header)))
      return unusable(`${this.#path} was cut short while it was in use`, RESTORE, DAMAGED);
    if (!isShort) this.#seen = file;
    if (wasChanged) this.#header = new Header(Buffer.from(this.#read));
    return undefined;
  }

  /** Another program may be in the midst of a checkpoint, which writes the first page first, or was killed in one. */
  #staysShort({ pages, pageSize }: Header): boolean {
    try {
      const [busy, frames, moved] = this.#ask('wal_checkpoint(PASSIVE)');
      if (Number(busy) !== 0 || frames !== moved) return false;
      const { size, blocks } = fstatSync(this.fd);
      // A write behind the end leaves a hole.
      return size < pages * pageSize || blocks * BLOCK_BYTES < size;
    } catch {
      return false;
    }
  }

  /** A copy that is older has fewer pages, and a backup made with VACUUM INTO another cookie. */
  #mayFollow(header: Header, last: Header): boolean {
    if (!header.isOfSqlite || header.pageSize !== last.pageSize) return false;
    if (header.schemaCookie !== last.schemaCookie)
      return header.schemaCookie > last.schemaCookie && header.schemaCookie <= this.#schemaVersion();
    return header.pages >= last.pages || header.vacuumsItself;
  }

  /** Any, while no connection is open that could say it. */
  #schemaVersion(): number {
    try {
      return Number(this.#ask('schema_version')[0]);
    } catch {
      return Infinity;
    }
  }

  findInWal(): TransactionError | undefined {
    const size = this.#walSizeNow();
    const isShorter = size < this.#walSize;
    this.#walSize = size;
    const cut = (): TransactionError =>
      unusable(`${this.#walPath} was overwritten or cut short while it was in use`, RESTORE, DAMAGED);
    if (size > 0 && this.#walFd !== undefined) {
      readSync(this.#walFd, this.#read, 0, 4, 0);
      if (this.#read.readUIntBE(0, 3) !== WAL_MAGIC) return cut();
    }
    return isShorter && !this.#holdsItsFrames(size) ? cut() : undefined;
  }

  /** Another program may have moved all of it into the file, and cut it, too. */
  #holdsItsFrames(size: number): boolean {
    try {
      const frames = Number(this.#ask('wal_checkpoint(PASSIVE)')[1]);
      return frames * (WAL_FRAME_HEADER + this.#header.pageSize) <= size;
    } catch {
      return false;
    }
  }

  #walSizeNow(): number {
    if (this.#walFd === undefined) {
      if (!statOf(this.#walPath)) return 0;
      this.#walFd = openSync(this.#walPath, 'r');
    }
    return fstatSync(this.#walFd).size;
  }
}

/** Only the cause names files, because the message reaches clients. */
function unusable(what: string, advice: string, sqlState: string): TransactionError {
  const cause = new Error(`${what}. ${advice}.`);
  const reason = sqlState === DAMAGED ? 'it is damaged' : 'it is not where it was opened';
  return new TransactionError('AMBIT_TX_FILE', `SQLite cannot use the file: ${reason}`, { cause, sqlState });
}
