/** Whether an HTTP status says that the request was done: 200 to 299. */
export const isSuccess = (status: number): boolean => status >= 200 && status < 300;
