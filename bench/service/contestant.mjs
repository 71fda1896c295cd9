/**
 * What a contestant's file exports as `contestant`: the service on a port of its own choice, with the database and the
 * log that the environment names, as the service reads it: DATABASE_URL or DATA_DIR, and LOG_LEVEL.
 *
 * @typedef {object} Contestant
 * @property {string} title
 * @property {string} package its name in the registry, for the version in the report
 * @property {() => Promise<string>} start gives the address of a server that listens
 */

export const contestants = ['ambit', 'ambit-express', 'hand', 'hand-express'];
export const databases = { sqlite: 'SQLite', postgres: 'PostgreSQL' };
