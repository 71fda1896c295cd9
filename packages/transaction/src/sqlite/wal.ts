import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { endianness } from 'node:os';
import { cannotUse } from './file.js';
import { statOf } from './open-files.js';

// https://www.sqlite.org/fileformat2.html#the_write_ahead_log
const HEADER = { bytes: 32, pageSize: 8, salts: 16, checksum: 24, big: 0x377f0683 };
/** It is read into memory as a whole; SQLite keeps it at 4 MB unless somebody reads one snapshot for long. */
const LARGEST_LOG = 2 ** 28;
const PAGE_SIZES = [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];
const FRAME = { bytes: 24, commit: 4, salts: 8, checksum: 16 };

/**
 * Refuses a file whose `-wal` holds transactions that SQLite would forget without a word: it reads the log up to the first
 * damaged frame, and removes the log of a file that is missing.
 */
export function checkWal(path: string): void {
  const walPath = `${existsSync(path) ? realpathSync(path) : path}-wal`;
  const size = (file: string): number => statOf(file)?.size ?? 0;
  if (size(walPath) <= HEADER.bytes) return;
  const refuse = (what: string): never => {
    throw cannotUse(path, Object.assign(new Error(what), { code: 'SQLITE_CORRUPT' }), 'XX001');
  };
  if (size(path) === 0)
    refuse(
      `${path} is missing, and ${walPath} still has transactions of it. Put the file back, or remove the -wal file`,
    );
  if (size(walPath) > LARGEST_LOG) return;
  const hidden = findHidden(walPath);
  // Where another program was writing to it, it looks otherwise now.
  if (hidden === undefined || findHidden(walPath) !== hidden) return;
  refuse(
    `${walPath} is damaged at byte ${hidden}, and the transactions after it cannot be read. Restore a backup, or go on` +
      ` without them: truncate -s ${hidden} '${walPath}'`,
  );
}

/**
 * Where the first damaged frame is, if two transactions follow after it, one continuing the other. A single one may be the last before a
 * crash: it was never acknowledged, since each COMMIT is flushed. Several single ones are left by programs that were killed in a COMMIT,
 * or whose disk failed: other programs have written over the beginning of each.
 */
function findHidden(walPath: string): number | undefined {
  const wal = readFileSync(walPath);
  if (wal.length < HEADER.bytes + FRAME.bytes) return undefined;
  const sum = new Checksum(wal);
  if (sum.continues(0, HEADER.checksum, HEADER.checksum)) {
    const step = FRAME.bytes + wal.readUInt32BE(HEADER.pageSize);
    let damaged = HEADER.bytes;
    while (belongs(wal, damaged, HEADER.salts, step) && sum.continues(damaged, FRAME.salts, FRAME.checksum, step))
      damaged += step;
    // The damaged frame itself may be the last of the first one.
    const isFirst = belongs(wal, damaged, HEADER.salts, step) && isCommit(wal, damaged);
    return hasTransactions(wal, damaged + step, { sum, salts: HEADER.salts, step }, isFirst ? 1 : 0)
      ? damaged
      : undefined;
  }
  const inFirstFrame = HEADER.bytes + FRAME.salts;
  const isLog = PAGE_SIZES.some((size) =>
    hasTransactions(wal, HEADER.bytes, { sum, salts: inFirstFrame, step: FRAME.bytes + size }),
  );
  return isLog ? 0 : undefined;
}

/** Frames from before the log was begun again have other salts. */
function belongs(wal: Buffer, frame: number, salts: number, step: number): boolean {
  if (frame + step > wal.length) return false;
  return wal.compare(wal, salts, salts + 8, frame + FRAME.salts, frame + FRAME.checksum) === 0;
}

const isCommit = (wal: Buffer, frame: number): boolean => wal.readUInt32BE(frame + FRAME.commit) !== 0;

function hasTransactions(
  wal: Buffer,
  from: number,
  { sum, salts, step }: { sum: Checksum; salts: number; step: number },
  before = 0,
): boolean {
  const follows = (frame: number): boolean => sum.continues(frame, FRAME.salts, FRAME.checksum, step);
  let commits = before;
  for (let frame = from; frame + step <= wal.length; frame += step) {
    const last = frame === HEADER.bytes ? HEADER.checksum : frame - step + FRAME.checksum;
    // Of what is before it either the bytes may be damaged, or the checksum.
    const isWhole = belongs(wal, frame, salts, step) && (follows(frame) || (sum.startFrom(last), follows(frame)));
    if (!isWhole) commits = 0;
    else if (isCommit(wal, frame) && (commits += 1) > 1) return true;
  }
  return false;
}

/** Each frame continues the checksum of the one before it. */
class Checksum {
  readonly #wal: Buffer;
  readonly #words: Uint32Array;
  #first = 0;
  #second = 0;

  constructor(wal: Buffer) {
    this.#wal = wal;
    const whole = Buffer.from(wal.subarray(0, wal.length - (wal.length % 4)));
    const isBig = wal.readUInt32BE(0) === HEADER.big;
    if (isBig !== (endianness() === 'BE')) whole.swap32();
    this.#words = new Uint32Array(whole.buffer, whole.byteOffset, whole.length / 4);
  }

  startFrom(stored: number): void {
    this.#first = this.#wal.readUInt32BE(stored);
    this.#second = this.#wal.readUInt32BE(stored + 4);
  }

  /** Adds the first bytes of a frame, and those after its own header; `stored` is where its checksum is. */
  continues(frame: number, bytes: number, stored: number, length = bytes): boolean {
    this.#add(frame, bytes);
    if (length > bytes) this.#add(frame + FRAME.bytes, length - FRAME.bytes);
    const at = frame + stored;
    return this.#wal.readUInt32BE(at) === this.#first && this.#wal.readUInt32BE(at + 4) === this.#second;
  }

  #add(from: number, bytes: number): void {
    for (let word = from / 4; word < (from + bytes) / 4; word += 2) {
      this.#first = (this.#first + (this.#words[word] ?? 0) + this.#second) >>> 0;
      this.#second = (this.#second + (this.#words[word + 1] ?? 0) + this.#first) >>> 0;
    }
  }
}
