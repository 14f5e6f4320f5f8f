import { OWN_ROWS } from '../../../scripts/tools-audit/own-rows.ts';
import { describeRows } from './describe-rows.ts';
import { OWN_ARRANGEMENTS } from './own-arrangements.ts';

describeRows(OWN_ROWS, OWN_ARRANGEMENTS);
