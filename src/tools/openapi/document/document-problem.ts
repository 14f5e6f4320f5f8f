/** Why a document cannot be used at all: one line for people. */
export class DocumentProblem extends Error {
  override readonly name: string = 'DocumentProblem';
}
