import { ormStories } from '../orm-stories/stories.js';
import { pgClient } from './orm.js';

ormStories(pgClient);
