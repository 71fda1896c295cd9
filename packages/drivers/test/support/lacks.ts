/** What the pools over other people's drivers lack: each guarantee of the pool contract, and why. */
export const LACKS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  pg: {},
  'postgres-js': {
    'refuses too few and too many parameters': 'too many are refused with 42P18, because it names their types',
    'names the reason for which the server has closed the connection':
      'it drops what the server said to a connection that is idle',
    'stores a statement that meets the transaction of another user, and reports it':
      'it does not say that a transaction is open: a user who reserves a connection has to end what it began there',
    'commits its own work only where it meets the transaction of another user, and reports it': 'the same',
  },
  pglite: {},
  mysql2: {
    'counts the rows of UPDATE with RETURNING': 'MariaDB has RETURNING for INSERT and DELETE only, MySQL not at all',
    'counts no row that ON CONFLICT left out': 'it is INSERT IGNORE there',
    'counts the rows of a statement that begins with WITH': 'MariaDB has WITH before SELECT only',
  },
  'node-sqlite': {},
  'better-sqlite3': {},
  'durable-object': {
    'gives integers beyond the safe range as exact text, and all others as numbers':
      'workerd rounds them, so they are refused',
    'of %s gives the values that query() gives': 'the same',
  },
};
