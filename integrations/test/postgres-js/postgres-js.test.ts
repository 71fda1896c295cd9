import { ormStories } from '../orm-stories/stories.js';
import { postgresJs } from './orm.js';

ormStories(postgresJs);
