// Leads from the documentation to the console, below any prefix of a proxy.
const link = document.createElement('a');
link.href = location.pathname.replace(/\/docs(\/.*)?$/, '/console');
link.textContent = 'Console';
const links = document.createElement('nav');
links.className = 'links';
links.append(link);
document.body.prepend(links);
