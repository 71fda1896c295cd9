import { runCommand } from './commands.js';

runCommand('stock');
