import { ormStories } from '../orm-stories/stories.js';
import { drizzleOnPostgres } from './postgres.js';
import { drizzleOnSqlite } from './sqlite.js';

ormStories(drizzleOnPostgres);
ormStories(drizzleOnSqlite);
