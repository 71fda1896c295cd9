import { runCommand } from './commands.js';

runCommand('events');
