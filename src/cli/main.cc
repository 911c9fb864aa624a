#include <cstdio>

int main() { std::puts("mete"); }
