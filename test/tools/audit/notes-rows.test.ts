import { NOTES_ROWS } from '../../../scripts/tools-audit/notes-rows.ts';
import { describeRows } from './describe-rows.ts';
import { NOTES_ARRANGEMENTS } from './notes-arrangements.ts';

describeRows(NOTES_ROWS, NOTES_ARRANGEMENTS);
