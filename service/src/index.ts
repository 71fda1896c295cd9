export { createAppContainer } from './app-container.js';
export type { Config } from './config/config.js';
export type { DatabaseConfig } from './config/database.js';
export { ConfigError, readConfig } from './config/config.js';
export { Problem } from './problem.js';
export type { Host, HostOptions } from './hosts/host.js';
export { createLogger, type ILogger } from './logging/logger.js';
export { createHost, type Service, startService, type StartOptions } from './service.js';
