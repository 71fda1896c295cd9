import { closeSync, fstatSync, openSync, readdirSync, readSync, realpathSync, type Stats, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { TransactionError } from '../core/errors.js';
import { codeOf } from '../core/sql-state.js';

/** Undefined where nothing is there, also when a folder of its path is a file or cannot be entered. */
export function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

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
/** SQLite locks this byte, and never writes the page that has it. */
const LOCK_BYTE = 0x4000_0000;

/** What the first page of the file says, https://www.sqlite.org/fileformat2.html#the_database_header. */
class Header {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isWhole(): boolean {
    return this.#bytes.length === HEADER_BYTES;
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

  /** Of the whole file. */
  get bytes(): number {
    return this.pages * this.pageSize;
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

/**
 * The one that SQLite has of a file. Closing one of our own would drop all locks that the process has on the file, in all of its
 * threads; only on Windows a lock belongs to its descriptor.
 */
class Descriptor {
  readonly #path: string;
  readonly file: Same;
  #fd: number | undefined = undefined;

  constructor(path: string, file: Same) {
    this.#path = path;
    this.file = file;
  }

  /** Undefined where SQLite has closed the file, or this process cannot know it. */
  get fd(): number | undefined {
    if (this.#fd === undefined || !this.#leadsToFile(this.#fd)) this.#fd = this.#find();
    return this.#fd;
  }

  close(): void {
    if (process.platform === 'win32' && this.#fd !== undefined) closeSync(this.#fd);
  }

  #find(): number | undefined {
    try {
      if (process.platform === 'win32') return openSync(this.#path, 'r');
      return readdirSync('/dev/fd')
        .map(Number)
        .find((fd) => this.#leadsToFile(fd));
    } catch {
      return undefined;
    }
  }

  #leadsToFile(fd: number): boolean {
    try {
      return isSame(fstatSync(fd), this.file);
    } catch {
      return false;
    }
  }
}

/** File systems count time in steps of some milliseconds: a file may be written again within the step of a write that was seen. */
const CLOCK_STEP_MS = 20;

/** A check is six calls of the system, too many for each COMMIT. For so long after a fault one may succeed. */
const WINDOW_MS = 10;

const DAMAGED = 'XX001';
const LOST = '58030';

/** What SQLite finds in a log that is shorter than it knows. */
const MISSES_FRAMES = /^SQLITE_(?:IOERR_SHORT_READ|CORRUPT|NOTADB)/;

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

  /** `readsContents` is for a pool that never leaves the WAL mode: in it no other program changes the size of a page. */
  constructor(path: string, ask: AskPragma, { readsContents = false } = {}) {
    this.#path = resolve(path);
    this.#ask = ask;
    const file = statOf(path);
    if (!file) throw unusable(`${this.#path} was deleted or moved while it was in use`, RESTORE, LOST);
    this.#file = file;
    this.#real = realpathSync(path);
    this.#contents = readsContents ? new Contents({ path: this.#path, real: this.#real, file, ask }) : undefined;
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
    // SQLite itself removes them when the journal is changed, and when the last connection is closed.
    if (new Descriptor(path, known).fd === undefined) {
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

  /** The file has no name any more, and is complete nevertheless. */
  #rescue(): string {
    const moveBack = 'Move it back';
    const isKept = this.#moveIntoFile() && process.platform === 'linux';
    const fd = isKept ? new Descriptor(this.#path, this.#file).fd : undefined;
    if (fd === undefined) return `${moveBack}. Otherwise: ${RESTORE}`;
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
  readonly #descriptor: Descriptor;
  #header: Header | undefined;
  #seen: Stats;
  #walDescriptor: Descriptor | undefined = undefined;
  #walSize = 0;
  readonly #walMagic = Buffer.alloc(4);

  constructor({ path, real, file, ask }: { path: string; real: string; file: Stats; ask: AskPragma }) {
    this.#path = path;
    this.#walPath = `${real}-wal`;
    this.#ask = ask;
    this.#seen = file;
    this.#descriptor = new Descriptor(path, file);
    this.#header = this.#readHeader();
  }

  close(): void {
    this.#descriptor.close();
    this.#walDescriptor?.close();
  }

  findInFile(file: Stats): TransactionError | undefined {
    const isSettled = Date.now() - file.mtimeMs > CLOCK_STEP_MS;
    if (isSettled && file.mtimeMs === this.#seen.mtimeMs && file.size === this.#seen.size) return undefined;
    const header = this.#readHeader();
    const last = this.#header;
    if (!header || !last) return undefined;
    if (header.isWhole && !header.equals(last) && !this.#mayFollow(header, last))
      return unusable(`${this.#path} was overwritten while it was in use`, RESTORE, DAMAGED);
    if (header.isWhole && file.size >= header.bytes) {
      this.#seen = file;
      this.#header = header;
      return undefined;
    }
    const mayHaveShrunk = header.isWhole && (header.vacuumsItself || header.schemaCookie !== last.schemaCookie);
    if ((file.size < this.#seen.size && !mayHaveShrunk) || this.#staysShort(file.size))
      return unusable(`${this.#path} was cut short while it was in use`, RESTORE, DAMAGED);
    return undefined;
  }

  #readHeader(): Header | undefined {
    const { fd } = this.#descriptor;
    if (fd === undefined) return undefined;
    const bytes = Buffer.alloc(HEADER_BYTES);
    return new Header(bytes.subarray(0, readSync(fd, bytes, 0, HEADER_BYTES, 0)));
  }

  /** Another program may be in the midst of a checkpoint, which writes the first page first, or was killed in one. */
  #staysShort(end: number): boolean {
    try {
      const [busy, frames, moved] = this.#ask('wal_checkpoint(PASSIVE)');
      if (Number(busy) !== 0 || frames !== moved) return false;
      const header = this.#readHeader();
      const { fd } = this.#descriptor;
      if (!header || fd === undefined) return false;
      const { size, blocks } = fstatSync(fd);
      if (!header.isWhole || size < header.bytes) return true;
      // A write behind the end leaves a hole, but a file system that compresses has fewer blocks, too.
      return blocks * BLOCK_BYTES < size && hasEmptyPage(fd, { from: end, to: size, pageSize: header.pageSize });
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
    if (this.#isNoLog(size) || (size < this.#walSize && this.#lacksFrames(size)))
      return unusable(`${this.#walPath} was overwritten or cut short while it was in use`, RESTORE, DAMAGED);
    return undefined;
  }

  #isNoLog(size: number): boolean {
    const fd = size > 0 ? this.#walDescriptor?.fd : undefined;
    // Another program may empty it at any moment.
    if (fd === undefined || readSync(fd, this.#walMagic, 0, 4, 0) < 4) return false;
    return this.#walMagic.readUIntBE(0, 3) !== WAL_MAGIC;
  }

  /** Another program may have moved all of it into the file, and cut it, too, and begun it again meanwhile. */
  #lacksFrames(size: number): boolean {
    try {
      const frames = Number(this.#ask('wal_checkpoint(PASSIVE)')[1]);
      const pageSize = this.#header?.pageSize ?? 0;
      if (frames * (WAL_FRAME_HEADER + pageSize) > Math.max(size, this.#walSizeNow())) return true;
      this.#walSize = size;
      return false;
    } catch (error) {
      // Of an open transaction nothing is known until it has ended.
      return MISSES_FRAMES.test(codeOf(error));
    }
  }

  #walSizeNow(): number {
    const found = statOf(this.#walPath);
    if (!found) return 0;
    if (!this.#walDescriptor || !isSame(this.#walDescriptor.file, found)) {
      this.#walDescriptor?.close();
      this.#walDescriptor = new Descriptor(this.#walPath, found);
    }
    this.#walSize = Math.max(this.#walSize, found.size);
    return found.size;
  }
}

function hasEmptyPage(fd: number, { from, to, pageSize }: { from: number; to: number; pageSize: number }): boolean {
  const page = Buffer.alloc(pageSize);
  const empty = Buffer.alloc(pageSize);
  for (let at = Math.ceil(from / pageSize) * pageSize; at < to; at += pageSize) {
    readSync(fd, page, 0, pageSize, at);
    if (page.equals(empty) && !(at <= LOCK_BYTE && LOCK_BYTE < at + pageSize)) return true;
  }
  return false;
}

/** Only the cause names files, because the message reaches clients. */
function unusable(what: string, advice: string, sqlState: string): TransactionError {
  const cause = new Error(`${what}. ${advice}.`);
  const reason = sqlState === DAMAGED ? 'it is damaged' : 'it is not where it was opened';
  return new TransactionError('AMBIT_TX_FILE', `SQLite cannot use the file: ${reason}`, { cause, sqlState });
}
