import { ormStories } from '../orm-stories/stories.js';
import { knex } from './orm.js';

ormStories(knex);
