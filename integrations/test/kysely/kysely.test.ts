import { ormStories } from '../orm-stories/stories.js';
import { kysely } from './orm.js';

ormStories(kysely);
