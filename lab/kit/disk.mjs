import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { atExit, isInstalled } from './program.mjs';

const SIZE = '2G';
const PROGRAMS = ['mkfs.ext4', 'mount', 'umount', 'xfs_io'];

/** Whether power failures can be tried here: they need root, a loop device and the package "xfsprogs". */
export function canCutPower() {
  return process.getuid?.() === 0 && existsSync('/dev/loop-control') && PROGRAMS.every(isInstalled);
}

/**
 * A file system of its own. When its power is cut it stops at once, as after a power failure: what was written, but had not
 * reached the disk, is lost after the next mount. The cache of a real disk, which can lose more, is not imitated.
 */
export class OwnDisk {
  #image;
  #mounted = false;

  /** @param {string} folder */
  constructor(folder) {
    this.#image = join(folder, 'disk.img');
    this.path = join(folder, 'disk');
    mkdirSync(this.path);
    run('truncate', '-s', SIZE, this.#image);
    run('mkfs.ext4', '-q', this.#image);
    this.#mount();
    atExit(() => this.close());
  }

  /** All that was written so far is then on the disk. */
  sync() {
    run('sync', '--file-system', this.path);
  }

  cutPower() {
    run('xfs_io', '-x', '-c', 'shutdown', this.path);
  }

  /** The processes that used it must have exited. */
  powerOn() {
    run('umount', this.path);
    this.#mount();
  }

  close() {
    // Lazily, because a driver may keep files open until this process exits.
    if (this.#mounted) run('umount', '--lazy', this.path);
    this.#mounted = false;
  }

  #mount() {
    run('mount', '-o', 'loop', this.#image, this.path);
    this.#mounted = true;
  }
}

/**
 * @param {string} command
 * @param {string[]} args
 */
function run(command, ...args) {
  return execFileSync(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
}
