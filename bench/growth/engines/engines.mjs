import { mariadb } from './mariadb.mjs';
import { postgres } from './postgres.mjs';
import { sqlite } from './sqlite.mjs';

/**
 * @typedef {object} Kind
 * @property {string} settings in which it differs from what is installed
 * @property {Record<string, string>} columns what is counted beside the CPU time
 * @property {string[]} steady those of them that do not depend on what is in a cache or in a log
 * @property {(folder: string) => Promise<Engine>} start
 *
 * @typedef {object} Engine a server of our own over a folder, or the files in it
 * @property {(name: string) => NodeJS.ProcessEnv} environmentOf what leads the service to a database
 * @property {(name: string, sql: string) => Promise<object[]>} run
 * @property {(name: string) => Promise<void>} create an empty database, in place of what has that name
 * @property {(name: string, inserts: Record<string, string>) => Promise<void>} fill replaces the rows of these tables
 * @property {(name: string) => Promise<void>} warm reads the tables that a service keeps in use
 * @property {(name: string) => Promise<Record<string, number>>} used what statements have used until now
 * @property {() => (() => number) | undefined} startCpu gives the microseconds of CPU since then; undefined where the database has no process
 * @property {() => Promise<void>} stop
 */

/** @type {Record<string, Kind>} */
export const ENGINES = { postgres, sqlite, mariadb };
