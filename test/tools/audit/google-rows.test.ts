import { GOOGLE_ROWS } from '../../../scripts/tools-audit/google-rows.ts';
import { describeRows } from './describe-rows.ts';
import { GOOGLE_ARRANGEMENTS } from './google-arrangements.ts';

describeRows(GOOGLE_ROWS, GOOGLE_ARRANGEMENTS);
