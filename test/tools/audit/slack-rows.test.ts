import { SLACK_ROWS } from '../../../scripts/tools-audit/slack-rows.ts';
import { describeRows } from './describe-rows.ts';
import { SLACK_ARRANGEMENTS } from './slack-arrangements.ts';

describeRows(SLACK_ROWS, SLACK_ARRANGEMENTS);
