/**
 * @typedef {object} Cluster PostgreSQL with a standby, and HAProxy in front of it
 * @property {string} title
 * @property {string} url where the service finds the primary
 * @property {{ query: import('../chaos/support/database.mjs').Database['query'] }} primary of the moment
 * @property {() => Promise<void>} repair every node is there again, and the standby is synchronous
 * @property {() => Promise<void>} close
 */
