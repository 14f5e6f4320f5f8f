import { SHELL_ROWS } from '../../../scripts/tools-audit/shell-rows.ts';
import { describeRows } from './describe-rows.ts';
import { SHELL_ARRANGEMENTS } from './shell-arrangements.ts';

describeRows(SHELL_ROWS, SHELL_ARRANGEMENTS);
