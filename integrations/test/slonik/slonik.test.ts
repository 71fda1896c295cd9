import { ormStories } from '../orm-stories/stories.js';
import { slonikOrm } from './orm.js';

ormStories(slonikOrm);
